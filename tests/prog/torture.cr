# Eight fibers allocate; finalizers, which libgc runs inside GC_malloc, switch to another fiber. A tracer that
# replaces return addresses kills this program (SIGILL); it must exit with status 0. The fibers never end: to end a
# fiber while a finalizer that it runs has yielded would be a bug of the program, traced or not. So would be to switch while the
# scheduler itself allocates, in a callback of the event loop, which cannot be entered twice: only fibers at work switch.
# Its argument says how much they allocate; 0: until the input ends.
class Noisy
  class_property finalized = 0
  class_property switches = 0
  class_property? at_work = false

  def initialize(@payload : Int64)
  end

  def finalize
    Noisy.finalized &+= 1
    return unless Noisy.at_work? && Noisy.finalized % 4 == 0
    Noisy.switches &+= 1
    Noisy.rest
  end

  # Gives way to other fibers.
  def self.rest
    Noisy.at_work = false
    Fiber.yield
    Noisy.at_work = true
  end
end

ALLOCATIONS = (ARGV[0]? || "400000").to_i64
FIBERS      = 8

class Progress
  class_property made = 0
end

if !ENV["ALYS_NO_WAIT"]?
  STDOUT.puts "ready"
  STDOUT.flush
  STDIN.read_byte
end

done = Channel(Nil).new
FIBERS.times do |f|
  spawn do
    told = false
    Noisy.at_work = true
    loop do
      200.times do |i|
        Noisy.new(i.to_i64)
        Array(Int32).new(20 + i % 50)
        "fiber #{f} round #{i}".upcase
        Progress.made &+= 1
      end
      Noisy.rest
      if !told && ALLOCATIONS > 0 && Progress.made > ALLOCATIONS
        told = true
        Noisy.at_work = false
        done.send(nil)
        Noisy.at_work = true
      end
    end
  end
end

ALLOCATIONS > 0 ? FIBERS.times { done.receive } : STDIN.gets_to_end
STDOUT.puts "made #{Progress.made} finalized #{Noisy.finalized} switches #{Noisy.switches}"
STDOUT.flush
LibC._exit(Noisy.switches > 0 ? 0 : 7)
# SPDX-License-Identifier: Apache-2.0
