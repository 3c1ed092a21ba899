# SPDX-License-Identifier: Apache-2.0
# Elixir: fills heaps below an anonymous function and names that Erlang would quote; follows the protocol of truth.h.
defmodule Shop.Basket do
  def fill!(n), do: length(Enum.map(1..n, fn i -> {i, i * 2} end))
  def loop(0), do: :ok

  def loop(n) do
    fill!(100)
    loop(n - 1)
  end
end

Process.register(self(), Shop.Basket)
IO.puts("ready")
IO.read(1)
Shop.Basket.loop(20000)
IO.puts("{}")
IO.read(1)
