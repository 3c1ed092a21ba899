# Known numbers of objects of known classes, kept and dropped. Prints how many of them the collector itself says are
# alive, then waits; for each line on stdin it drops half of what it kept, collects, and prints again.
lib LibGC
  fun base = GC_base(p : Void*) : Void*
  fun is_marked = GC_is_marked(p : Void*) : LibC::Int
  fun get_gc_no = GC_get_gc_no : LibC::ULong
end

# The addresses of each class's objects, encoded so that the collector does not take them for pointers.
HIDDEN = Hash(Int32, Array(UInt64)).new { |h, k| h[k] = [] of UInt64 }

def note(object)
  HIDDEN[object.crystal_type_id] << ~object.object_id
  object
end

class Foo
end

class A
  @bs = Array(B).new

  def add(b : B)
    @bs << b
  end

  def drop
    @bs.truncate(0, @bs.size // 2)
  end
end

class B
  def initialize(@c : C)
  end
end

class C
end

class Leaf
  def initialize(@number : Int64, @text : String)
  end
end

def fill(foos, owners, leaves)
  3000.times { foos << note(Foo.new) }
  20_000.times { note(Foo.new) }
  40.times do
    a = note(A.new)
    50.times { a.add(note(B.new(note(C.new)))) }
    owners << a
  end
  1500.times { |i| leaves << note(Leaf.new(i.to_i64, "leaf number #{i}")) }
  10_000.times { |i| note(Leaf.new(i.to_i64, "dropped #{i}")) }
end

def drop(foos, owners, leaves)
  foos.truncate(0, foos.size // 2)
  owners.each &.drop
  leaves.truncate(0, leaves.size // 2)
end

def alive(type : T.class) : Int32 forall T
  id = T.crystal_instance_type_id
  HIDDEN[id].uniq.count do |hidden|
    at = Pointer(Void).new(~hidden)
    LibGC.base(at) == at && LibGC.is_marked(at) != 0 && at.as(Int32*).value == id
  end
end

# Collections are disabled from here to the next drop, so that all numbers belong to the same one.
def tell
  GC.collect
  GC.disable
  counts = {Foo: alive(Foo), A: alive(A), B: alive(B), C: alive(C), Leaf: alive(Leaf)}
  puts %({"pid":#{Process.pid},"Foo":#{counts[:Foo]},"A":#{counts[:A]},"B":#{counts[:B]},"C":#{counts[:C]},) +
       %("Leaf":#{counts[:Leaf]},"collection":#{LibGC.get_gc_no},"heap_bytes":#{GC.stats.heap_size}})
  STDOUT.flush
end

foos = [] of Foo
owners = [] of A
leaves = [] of Leaf
fill(foos, owners, leaves)
tell
while STDIN.read_byte
  GC.enable
  drop(foos, owners, leaves)
  tell
end
# SPDX-License-Identifier: Apache-2.0
