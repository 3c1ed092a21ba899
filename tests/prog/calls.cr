# Methods that count their own calls: with @[NoInline], recursive, in a fiber, and one that may be inlined in a release build.
class Pile
  class_property made = 0, kept = 0, nested = 0, small = 0

  @[NoInline]
  def self.build(n : Int32) : Array(Int32)
    @@made += 1
    Array(Int32).new(n, 0)
  end

  @[NoInline]
  def keep(n : Int32) : String
    @@kept += 1
    String.new(n) { {n, n} }
  end

  @[NoInline]
  def nest(depth : Int32) : Bytes
    @@nested += 1
    depth == 0 ? Bytes.new(8) : nest(depth - 1)
  end

  def small(n : Int32) : Bytes
    @@small += 1
    Bytes.new(n)
  end
end

pile = Pile.new
done = Channel(Nil).new
spawn do
  100.times { pile.keep(20) }
  done.send(nil)
end
400.times do |i|
  Pile.build(50)
  pile.keep(30)
  pile.nest(i % 5)
  pile.small(16)
end
done.receive
puts %({"calls":{"Pile.build":#{Pile.made},"Pile#keep":#{Pile.kept},"Pile#nest":#{Pile.nested},"Pile#small":#{Pile.small}}})
# SPDX-License-Identifier: Apache-2.0
