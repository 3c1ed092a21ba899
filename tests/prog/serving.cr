# The demo's server, which counts what it asks the collector for while it renders /page/N. For each line of input it says how much that
# was so far, as the C programs say their truth.
class Truth
  class_property? counting = false
  class_property allocs = 0_i64
  class_property bytes = 0_i64
  class_property reallocs = 0_i64
  class_property realloc_bytes = 0_i64

  def self.say : Nil
    puts %({"pid":#{Process.pid},"sites":{"page":{"allocs":#{allocs},"bytes":#{bytes},) +
         %("reallocs":#{reallocs},"realloc_bytes":#{realloc_bytes}}}})
    STDOUT.flush
  end

  def self.allocation(size) : Nil
    return unless counting?
    self.allocs &+= 1
    self.bytes &+= size
  end

  def self.reallocation(size) : Nil
    return unless counting?
    self.reallocs &+= 1
    self.realloc_bytes &+= size
  end
end

spawn do
  while STDIN.gets
    Truth.say
  end
end

# It never returns.
require "../../demo/server"

class Pages
  # No other fiber runs meanwhile.
  @[NoInline]
  def page(number : Int32) : String
    Truth.counting = true
    text = previous_def
    Truth.counting = false
    text
  end
end

module GC
  def self.malloc(size : LibC::SizeT) : Void*
    Truth.allocation(size)
    LibGC.malloc(size)
  end

  def self.malloc_atomic(size : LibC::SizeT) : Void*
    Truth.allocation(size)
    LibGC.malloc_atomic(size)
  end

  def self.realloc(ptr : Void*, size : LibC::SizeT) : Void*
    Truth.reallocation(size)
    LibGC.realloc(ptr, size)
  end
end
# SPDX-License-Identifier: Apache-2.0
