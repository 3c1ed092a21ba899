# Known numbers of objects, arrays and strings by allocation site, in Crystal. Prints its truth as the C programs do.
class Widget
  def initialize(@a : Int64, @next : Widget?)
  end
end

class Kept
  def initialize(@a : Int64)
  end
end

ROUNDS = 4_000
KEPT   = Array(Kept).new(ROUNDS)

# A site needs its own frame in a release build, too.
@[NoInline]
def site_objects(i : Int32) : Widget
  Widget.new(i.to_i64, nil)
end

@[NoInline]
def site_kept(i : Int32) : Kept
  Kept.new(i.to_i64)
end

# The Array object and its buffer.
@[NoInline]
def site_arrays(n : Int32) : Array(Int32)
  Array(Int32).new(n)
end

# A String has a header (type id, byte size, length) and a zero at the end.
@[NoInline]
def site_strings(n : Int32) : String
  String.new(n) { |buffer| {n, n} }
end

@[NoInline]
def site_slices(n : Int32) : Bytes
  Bytes.new(n)
end

@[NoInline]
def site_realloc(p : Void*, n : Int32) : Void*
  GC.realloc(p, LibC::SizeT.new(n))
end

def waits?
  !ENV["ALYS_NO_WAIT"]?
end

if waits?
  STDOUT.puts "ready"
  STDOUT.flush
  STDIN.read_byte
end

grown = GC.malloc(LibC::SizeT.new(16))
ROUNDS.times do |i|
  site_objects(i)
  KEPT << site_kept(i) if i % 10 == 0
  site_arrays(100)
  site_strings(50)
  site_slices(200)
  grown = site_realloc(grown, 16 + i % 2000)
end

truth = {
  "site_objects" => {ROUNDS, ROUNDS * instance_sizeof(Widget), 0, 0},
  "site_kept"    => {ROUNDS // 10, ROUNDS // 10 * instance_sizeof(Kept), 0, 0},
  "site_arrays"  => {ROUNDS * 2, ROUNDS * (instance_sizeof(Array(Int32)) + 100 * 4), 0, 0},
  "site_strings" => {ROUNDS, ROUNDS * (String::HEADER_SIZE + 50 + 1), 0, 0},
  "site_slices"  => {ROUNDS, ROUNDS * 200, 0, 0},
  "site_realloc" => {0, 0, ROUNDS, (0...ROUNDS).sum { |i| 16 + i % 2000 }},
}
print %({"pid":#{Process.pid},"sites":{)
print truth.map { |name, t|
  %("#{name}":{"allocs":#{t[0]},"bytes":#{t[1]},"reallocs":#{t[2]},"realloc_bytes":#{t[3]},"frees":0})
}.join(',')
puts "}}"
STDOUT.flush
while waits? && STDIN.read_byte
end
# SPDX-License-Identifier: Apache-2.0
