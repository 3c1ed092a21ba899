# Many small objects and what the standard library makes at start: for the tables of docs/crystal.md. Build it without
# --release: names of types stand in debug builds.
class Foo
end

foos = Array.new(100_000) { Foo.new }
puts foos.size
# SPDX-License-Identifier: Apache-2.0
