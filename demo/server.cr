# A small web site to trace: HTML pages and JSON, rendered anew for every request, always with the same answer.
# Usage: server PORT (0 = any free port). Prints "listening on 127.0.0.1:PORT".
require "http/server"
require "json"
require "html"

WORDS = %w(allocator block bucket collector fiber finalizer frame heap pointer probe record sample stack trace)

record Item, id : Int32, title : String, tags : Array(String), size : Int64 do
  include JSON::Serializable
end

# The same number always gives the same item: a checksum over an answer proves it right.
class Catalog
  def item(id : Int32) : Item
    tags = Array(String).new(3) { |i| WORDS[(id * 7 + i * 3) % WORDS.size] }
    Item.new(id, title(id), tags, (id.to_i64 * 2_654_435_761) % 1_000_000)
  end

  def page(number : Int32) : Array(Item)
    Array(Item).new(20) { |i| item(number * 20 + i) }
  end

  private def title(id : Int32) : String
    "The #{WORDS[id % WORDS.size]} and the #{WORDS[(id // 3) % WORDS.size]} ##{id}"
  end
end

# A tree of nodes, built for one answer and dropped: the usual life of objects in a web server.
class Node
  def initialize(@name : String, @text : String? = nil)
    @children = [] of Node
  end

  def <<(child : Node) : Node
    @children << child
    self
  end

  def render(io : IO) : Nil
    io << '<' << @name << '>'
    @text.try { |text| HTML.escape(text, io) }
    @children.each &.render(io)
    io << "</" << @name << '>'
  end
end

class Pages
  def initialize(@catalog : Catalog)
  end

  def index : String
    list = Node.new("ul")
    10.times { |n| list << Node.new("li", "page #{n}") }
    document("Pages", list)
  end

  def page(number : Int32) : String
    table = Node.new("table")
    @catalog.page(number).each { |item| table << row(item) }
    document("Page #{number}", table)
  end

  private def row(item : Item) : Node
    Node.new("tr") << Node.new("td", item.title) << Node.new("td", item.tags.join(", ")) << Node.new("td", item.size.format)
  end

  private def document(title : String, body : Node) : String
    tree = Node.new("html") << (Node.new("head") << Node.new("title", title)) << (Node.new("body") << Node.new("h1", title) << body)
    String.build { |io| tree.render(io) }
  end
end

class Site
  def initialize
    @catalog = Catalog.new
    @pages = Pages.new(@catalog)
  end

  def answer(context : HTTP::Server::Context) : Nil
    path = context.request.path
    case path
    when "/"
      html(context, @pages.index)
    when "/json"
      json(context, @catalog.page(0))
    when .starts_with?("/page/")
      number = path.lchop("/page/").to_i?
      number && number >= 0 && number < 1_000_000 ? html(context, @pages.page(number)) : missing(context)
    else
      missing(context)
    end
  end

  private def html(context, text : String)
    context.response.content_type = "text/html; charset=utf-8"
    context.response.print text
  end

  private def json(context, items : Array(Item))
    context.response.content_type = "application/json"
    # As one text: a builder on the response would flush, and a second write waits for the first ACK.
    context.response.print items.to_json
  end

  private def missing(context)
    context.response.respond_with_status(404)
  end
end

site = Site.new
server = HTTP::Server.new { |context| site.answer(context) }
address = server.bind_tcp("127.0.0.1", (ARGV[0]? || "0").to_i)
puts "listening on #{address}"
STDOUT.flush
server.listen
# SPDX-License-Identifier: Apache-2.0
