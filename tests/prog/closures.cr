# Blocks that are not objects but begin with a number as small as a type id: the variables of closures, and tuples in
# buffers. The argument is the number of each.
class One
  @a = 1_i64
  @b = 2_i64
end

class Many
  def initialize(@number : Int64)
  end
end

class Holder
  def initialize(@tuple : Pointer({Int32, Int32, String}))
  end
end

class Failed < Exception
end

closures = Array(-> Int32).new
wide = Array(-> String).new
tuples = Array(Pointer({Int32, Int32, String})).new
pairs = Array(Pointer({Int32, Int32})).new
ARGV.first.to_i.times do |i|
  text = "text #{i}"
  closures << -> { i += 1 }
  wide << -> { "#{i} #{text}" }
  tuples << Pointer({Int32, Int32, String}).malloc(1, {i, i + 1, text})
  pairs << Pointer({Int32, Int32}).malloc(1, {i, i + 1})
end
one = One.new
many = Array.new(300) { |i| Many.new(i.to_i64) }
failed = [Failed.new("first"), Failed.new("second")] of Exception
GC.collect
GC.disable
puts "ready"
STDOUT.flush
STDIN.read_byte
puts closures.size, wide.size, tuples.size, pairs.size, one, many.size, failed.size
# SPDX-License-Identifier: Apache-2.0
