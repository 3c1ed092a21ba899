# Types that are private at the top level, virtual types, strings, and objects whose class allocates their memory itself.
module Pool
  @@taken = 0

  def self.get(size)
    @@taken += 1
    GC.malloc(size.to_u64)
  end
end

macro own(memory)
  def self.allocate
    place = {{memory}}.as(Void*)
    Intrinsics.memset(place, 0_u8, instance_sizeof(self), false)
    set_crystal_type_id(place)
    place.as(self)
  end
end

private class Hidden
  def initialize(@n : Int32)
    @list = Array(Int32).new(40)
  end

  def grow
    60.times { |i| @list << i }
    @list.size
  end
end

private module Inner
  class Deep
    @a = 1_i64
    @b = 2_i64
    getter a
  end

  def self.deep
    Deep.new
  end
end

abstract class Shape
  abstract def area
end

class Square < Shape
  def initialize(@side : Int32)
  end

  def area
    @side * @side
  end
end

class Circle < Shape
  def initialize(@radius : Int32)
  end

  def area
    @radius * 3
  end
end

class FromPool
  own(Pool.get(instance_sizeof(self)))
  getter n = 1_i64
end

class FromPointer
  own(Pointer(UInt8).malloc(instance_sizeof(self)))
  getter n = 1_i64
end

class FromC
  own(LibC.malloc(instance_sizeof(self)))
  getter n = 1_i64
end

private def written(n)
  String.build { |io| n.times { |i| io << i } }
end

STDOUT.puts "ready"
STDOUT.flush
STDIN.read_byte unless ENV["ALYS_NO_WAIT"]?
hidden = Array(Hidden).new
deep = [] of Inner::Deep
shapes = [] of Shape
strings = [] of String
own = [] of FromPool | FromPointer
sum = 0_i64
100.times do |i|
  hidden << Hidden.new(i)
  deep << Inner.deep
  shapes << (i.even? ? Square.new(i) : Circle.new(i))
  strings << written(50)
  own << FromPool.new << FromPointer.new
  sum += FromC.new.n
end
GC.collect
puts hidden.sum(&.grow) + deep.sum(&.a) + shapes.sum(&.area) + strings.sum(&.size) + own.sum(&.n) + sum
STDOUT.flush
STDIN.gets_to_end unless ENV["ALYS_NO_WAIT"]?
# SPDX-License-Identifier: Apache-2.0
