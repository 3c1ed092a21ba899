# Objects that are kept and dropped, in fibers, some with finalizers. Each has a disappearing link, which the collector
# clears when the object is dead. live and live_bytes in the truth are those after the last collection.
@[Link("gc")]
lib LibLinks
  fun register_long_link = GC_register_long_link(link : Void**, obj : Void*) : Int32
end

class Leaf
  def initialize(@a : Int64, @b : Int64)
  end
end

class Node
  property next : Node?
  property leaf : Leaf

  def initialize(@leaf : Leaf, @next : Node?)
  end
end

class Closing
  class_property closed = 0

  def initialize(@a : Int64)
  end

  def finalize
    Closing.closed &+= 1
  end
end

ROUNDS = (ARGV[0]? || "40000").to_i
FIBERS = 4
SLOTS  = 300

# Memory that the collector does not scan.
module Links
  MAX = 1 << 20

  struct One
    property hidden : UInt64
    property site : Int32
    property size : Int32

    def initialize(@hidden, @site, @size)
    end
  end

  @@all = LibC.malloc(MAX * sizeof(One)).as(One*)
  @@count = Atomic(Int32).new(0)

  def self.add(obj : Reference, site : Int32, size : Int32)
    i = @@count.add(1)
    abort "too many links" if i >= MAX
    (@@all + i).value = One.new(~obj.object_id, site, size)
    LibLinks.register_long_link((@@all + i).as(Void**), Pointer(Void).new(obj.object_id))
  end

  def self.count(site : Int32)
    live, bytes, all, all_bytes = 0, 0, 0, 0
    @@count.get.times do |i|
      one = (@@all + i).value
      next unless one.site == site
      all += 1
      all_bytes += one.size
      next if one.hidden == 0
      live += 1
      bytes += one.size
    end
    {live, bytes, all, all_bytes}
  end
end

@[NoInline]
def site_leaf(i : Int64) : Leaf
  leaf = Leaf.new(i, i)
  Links.add(leaf, 0, instance_sizeof(Leaf))
  leaf
end

@[NoInline]
def site_node(leaf : Leaf, rest : Node?) : Node
  node = Node.new(leaf, rest)
  Links.add(node, 1, instance_sizeof(Node))
  node
end

@[NoInline]
def site_closing(i : Int64) : Closing
  one = Closing.new(i)
  Links.add(one, 2, instance_sizeof(Closing))
  one
end

@[NoInline]
def wipe_stack
  junk = uninitialized StaticArray(UInt8, 32768)
  junk.to_unsafe.clear(32768)
  junk.to_unsafe[ROUNDS & 1023]
end

def waits?
  !ENV["ALYS_NO_WAIT"]?
end

KEPT    = Array(Node?).new(FIBERS * SLOTS, nil)
CLOSING = Array(Closing?).new(FIBERS * SLOTS, nil)

@[NoInline]
def work(f : Int32)
  ROUNDS.times do |i|
    at = f * SLOTS + (i &* 7919) % SLOTS
    rest = i % 3 == 0 ? nil : KEPT[at]
    rest.next = nil if rest && i % 5 == 0
    KEPT[at] = site_node(site_leaf(i.to_i64), rest)
    CLOSING[at] = site_closing(i.to_i64) if i % 16 == 0
    "some garbage #{i}".upcase
    Fiber.yield if i % 100 == 0
  end
end

if waits?
  STDOUT.puts "ready"
  STDOUT.flush
  STDIN.read_byte
end

done = Channel(Nil).new
FIBERS.times do |f|
  spawn do
    work(f)
    done.send(nil)
  end
end
FIBERS.times { done.receive }
3.times do
  wipe_stack
  Fiber.yield
  GC.collect
end

names = {"site_leaf", "site_node", "site_closing"}
print %({"pid":#{Process.pid},"closed":#{Closing.closed},"sites":{)
names.each_with_index do |name, site|
  live, bytes, all, all_bytes = Links.count(site)
  print "," if site > 0
  print %("#{name}":{"allocs":#{all},"bytes":#{all_bytes},"reallocs":0,"realloc_bytes":0,"frees":0,"live":#{live},"live_bytes":#{bytes}})
end
puts "}}"
STDOUT.flush
while waits? && STDIN.read_byte
end
# SPDX-License-Identifier: Apache-2.0
