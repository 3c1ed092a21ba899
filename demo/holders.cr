# Who holds the C objects? For the object graph of docs/heap-inspection.md. Prints "ready" and waits for the end of its input.
class A
  @bs = Array(B).new

  def add(b : B)
    @bs << b
  end
end

class B
  def initialize(@c : C)
  end
end

class C; end

a = A.new
a.add(B.new C.new)
a.add(B.new C.new)
puts "ready"
gets
a.add(B.new C.new)
# SPDX-License-Identifier: Apache-2.0
