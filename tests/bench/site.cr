# A web site of linked pages to crawl: text with light markup is parsed into nodes and rendered into a layout, anew for
# every request, always with the same answer. Usage: site PORT (0 = any). Prints "listening on 127.0.0.1:PORT".
# /bytes answers with the bytes allocated so far.
require "http/server"
require "html"

PAGES    = 300
SECTIONS =  12
# Parts of sentences, about as long as in real text with markup.
WORDS = ["allocators keep blocks of one size together", "the collector walks every frame of every stack",
  "a fiber sleeps until its socket has something to read", "finalizers run when nobody expects them",
  "each bucket holds the objects that were freed last", "pointers are found by looking, not by asking",
  "a probe is a breakpoint that the kernel answers", "samples are weighted by what they stand for",
  "of the heap", "without a pause", "once in a while", "under load", "never twice", "and so on"]

# The text of an article, determined by its number.
class Source
  def initialize(@number : Int32)
    @seed = @number.to_u32 &* 2_654_435_761_u32 | 1_u32
  end

  def title : String
    "About #{WORDS[@number % 14]} and #{WORDS[@number // 14 % 14]}, part #{@number}"
  end

  def text : String
    String.build do |io|
      io << "# " << title << "\n\n"
      4.times do |part|
        io << "## " << sentence(4) << "\n\n" << paragraph << "\n\n" << paragraph << "\n\n"
        3.times { io << "- " << sentence(6) << '\n' }
        io << "\n> " << sentence(7) << "\n\n    " << sentence(5) << "\n\n" if part.odd?
        io << '\n'
      end
      io << "See [the next part](/page/#{(@number + 1) % PAGES}) or [a distant one](/page/#{@number * 7 % PAGES}).\n"
    end
  end

  private def paragraph : String
    Array.new(3) { sentence(6) }.join(' ')
  end

  private def sentence(length : Int32) : String
    words = Array.new(length) { |i| decorate(word, i) }
    words.join(' ').capitalize + "."
  end

  private def decorate(text : String, at : Int32) : String
    case (@seed >> 8) % 23
    when 0 then "*#{text}*"
    when 1 then "`#{text}`"
    when 2 then at > 2 ? "[#{text}](/page/#{(@seed >> 5) % PAGES})" : text
    else        text
    end
  end

  private def word : String
    @seed = @seed &* 1_103_515_245_u32 &+ 12_345_u32
    WORDS[(@seed >> 16) % WORDS.size]
  end
end

abstract class Node
  abstract def render(io : IO) : Nil
end

class Text < Node
  def initialize(@text : String)
  end

  def render(io : IO) : Nil
    HTML.escape(@text, io)
  end
end

class Element < Node
  NO_ATTRIBUTES = {} of String => String

  getter children = [] of Node

  def initialize(@name : String, @attributes : Hash(String, String) = NO_ATTRIBUTES)
  end

  def <<(child : Node) : Element
    @children << child
    self
  end

  def render(io : IO) : Nil
    io << '<' << @name
    @attributes.each { |key, value| io << ' ' << key << "=\"" << HTML.escape(value) << '"' }
    io << '>'
    @children.each &.render(io)
    io << "</" << @name << ">\n"
  end
end

class Anchor < Element
  def initialize(text : String, target : String)
    super("a", {"href" => target})
    self << Text.new(text)
  end
end

# The beginning of its first line determines a block's type.
class Parser
  INLINE = /\*(.+?)\*|`(.+?)`|\[(.+?)\]\((.+?)\)/

  def initialize(@text : String)
  end

  def parse : Element
    article = Element.new("article")
    @text.split("\n\n").each do |block|
      lines = block.lines.reject &.blank?
      article << block(lines) unless lines.empty?
    end
    article
  end

  private def block(lines : Array(String)) : Node
    first = lines.first
    case first
    when .starts_with?("## ")  then inline(Element.new("h2"), first.lchop("## "))
    when .starts_with?("# ")   then inline(Element.new("h1"), first.lchop("# "))
    when .starts_with?("> ")   then inline(Element.new("blockquote"), first.lchop("> "))
    when .starts_with?("    ") then Element.new("pre") << Text.new(first.strip)
    when .starts_with?("- ")   then list(lines)
    else                            inline(Element.new("p"), lines.join(' '))
    end
  end

  private def list(lines : Array(String)) : Node
    list = Element.new("ul")
    lines.each { |line| list << inline(Element.new("li"), line.lchop("- ")) }
    list
  end

  private def inline(element : Element, text : String) : Element
    position = 0
    while match = INLINE.match(text, position)
      element << Text.new(text[position...match.begin])
      element << marked(match)
      position = match.end
    end
    element << Text.new(text[position..])
  end

  private def marked(match : Regex::MatchData) : Node
    if emphasis = match[1]?
      Element.new("em") << Text.new(emphasis)
    elsif code = match[2]?
      Element.new("code") << Text.new(code)
    else
      Anchor.new(match[3], match[4])
    end
  end
end

class Layout
  def page(title : String, body : Node, near : Enumerable(Int32)) : String
    head = Element.new("head") << (Element.new("title") << Text.new(title))
    main = Element.new("main", {"class" => "page"}) << body
    tree = Element.new("html") << head << (Element.new("body") << navigation(near) << main)
    String.build { |io| io << "<!doctype html>\n"; tree.render(io) }
  end

  private def navigation(near : Enumerable(Int32)) : Node
    list = Element.new("ul") << (Element.new("li") << Anchor.new("Start", "/"))
    SECTIONS.times { |n| list << (Element.new("li") << Anchor.new("Section #{n}", "/section/#{n}")) }
    near.each { |n| list << (Element.new("li") << Anchor.new(Source.new(n).title, "/page/#{n}")) }
    Element.new("nav", {"class" => "site"}) << list
  end
end

class Site
  def initialize
    @layout = Layout.new
  end

  def answer(context : HTTP::Server::Context) : Nil
    section, _, number = context.request.path.lchop('/').partition('/')
    n = number.to_i? || 0
    case section
    when ""        then html(context, @layout.page("Start", Element.new("p"), [] of Int32))
    when "section" then html(context, @layout.page("Section #{n}", Element.new("p"), section_pages(n)))
    when "page"    then html(context, article(n % PAGES))
    when "bytes"   then context.response.print GC.stats.total_bytes
    else                context.response.respond_with_status(404)
    end
  end

  private def article(n : Int32) : String
    source = Source.new(n)
    @layout.page(source.title, Parser.new(source.text).parse, section_pages(n % SECTIONS).first(4))
  end

  private def section_pages(n : Int32) : Array(Int32)
    Array(Int32).new(PAGES // SECTIONS) { |i| n + i * SECTIONS }
  end

  private def html(context, text : String) : Nil
    context.response.content_type = "text/html; charset=utf-8"
    context.response.print text
  end
end

site = Site.new
server = HTTP::Server.new { |context| site.answer(context) }
address = server.bind_tcp("127.0.0.1", (ARGV[0]? || "0").to_i)
puts "listening on #{address}"
STDOUT.flush
server.listen
# SPDX-License-Identifier: Apache-2.0
