# The examples of MemProf's documentation, in a program without a profiler. Prints classes and addresses of live
# objects ("C 7f..."), then "ready"; then executes commands, one word per line on stdin.
class A
  @bs = Array(B).new

  def add(b : B)
    @bs << b
  end
end

class B
  @c : C

  def initialize(@c : C)
  end
end

class C; end

class Foo
end

# Allocated on command, during a recording.
class Late
  @name : String
  @pair = [] of Late

  def initialize(@name)
  end
end

# Referenced only from the stack of a sleeping fiber.
class OnStack
  getter number

  def initialize(@number : Int32)
  end
end

module Kept
  LATES = [] of Late
end

c1, c2 = C.new, C.new
a = A.new
a.add(B.new c1)
a.add(B.new c2)
arr = Array.new(ENV["FOOS"]?.try(&.to_i) || 100000) { Foo.new }

# Fibers, so that there are more stacks than the main one.
spawn { sleep 1000 }
(ENV["FIBERS"]?.try(&.to_i) || 0).times do |i|
  spawn do
    held = OnStack.new i
    sleep 1000
    puts held.number
  end
end
spinning = ENV["SPIN"]?
{% if flag?(:preview_mt) %}
  2.times do
    spawn do
      n = 0_u64
      while spinning
        n &+= Foo.new.object_id & 1
        Fiber.yield
      end
    end
  end
{% end %}
Fiber.yield

puts "A #{a.object_id.to_s(16)}", "C #{c1.object_id.to_s(16)}", "C #{c2.object_id.to_s(16)}", "Array(Foo) #{arr.object_id.to_s(16)}"
c1 = c2 = nil
puts "ready"
STDOUT.flush
while word = gets
  case word
  when "truncate"
    arr.truncate(0, 1000)
    GC.collect
  when "late"
    100.times { |i| Kept::LATES << Late.new("late #{i}") }
  end
  puts "done"
  STDOUT.flush
end
a.add(B.new C.new)
puts arr.size
# SPDX-License-Identifier: Apache-2.0
