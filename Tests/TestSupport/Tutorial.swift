import Foundation

/// A page of `docs/tutorials`, with what a reader of it saves and types: files in fenced blocks of their language, commands in
/// blocks of `sh`, and in blocks of `text` the lines that the page says will come.
public struct Tutorial: Sendable {
  public struct Failure: Error, CustomStringConvertible {
    public var description: String

    public init(_ description: String) { self.description = description }
  }

  public enum Step: Sendable, Equatable {
    case commands(String)
    /// Lines that come; what stands behind an ellipsis differs each time.
    case output([String])
  }

  private struct Block {
    var language: String
    var text: String
  }

  private let name: String
  private let blocks: [Block]

  /// Reads `docs/tutorials/NAME.md`.
  ///
  /// - Throws: ``Failure`` where the page has no commands.
  public init(_ name: String) throws {
    let file = ServerProcess.repository.appendingPathComponent("docs/tutorials/\(name).md")
    try self.init(name, text: String(contentsOf: file, encoding: .utf8))
  }

  /// - Throws: ``Failure`` where the text has no commands.
  public init(_ name: String, text: String) throws {
    self.name = name
    var blocks: [Block] = []
    var open: Block?
    var lines: [String] = []
    for line in text.components(separatedBy: "\n") {
      if var block = open {
        guard line == "```" else {
          lines.append(line)
          continue
        }
        block.text = lines.joined(separator: "\n")
        blocks.append(block)
        (open, lines) = (nil, [])
      } else if line.hasPrefix("```") {
        open = Block(language: String(line.dropFirst(3)), text: "")
      }
    }
    self.blocks = blocks
    guard !steps.isEmpty else { throw Failure("docs/tutorials/\(name).md has no commands") }
  }

  public var steps: [Step] {
    blocks.compactMap { block in
      switch block.language {
      case "sh": .commands(block.text)
      case "text": .output(block.text.components(separatedBy: "\n"))
      default: nil
      }
    }
  }

  /// The one file of a language that the page has one saved.
  ///
  /// - Throws: ``Failure`` where there is none, or more than one.
  public func file(_ language: String) throws -> String {
    let found = blocks.filter { $0.language == language }
    guard found.count == 1, let file = found.first else {
      throw Failure("docs/tutorials/\(name).md has \(found.count) blocks of \(language) and not one")
    }
    return file.text + "\n"
  }

  /// Where a command stands among the steps: the first with that text in it.
  ///
  /// - Throws: ``Failure`` where it stands nowhere.
  public func step(with text: String) throws -> Int {
    let index = steps.firstIndex { step in
      if case .commands(let commands) = step { commands.contains(text) } else { false }
    }
    guard let index else { throw Failure("docs/tutorials/\(name).md does not say to type \(text)") }
    return index
  }

  /// The steps as a script for bash, in which each output is waited for: in a file, and as often as the page has shown
  /// the line by then.
  ///
  /// - Parameter log: the file in which outputs appear, as the script names it.
  public func script(of range: Range<Int>, log: String) -> String {
    var script = """
      set -eu -o pipefail
      await() {
        for _ in $(seq 600); do
          if [ "$(grep -cF -- "$1" \(log) || true)" -ge "$2" ]; then return; fi
          sleep 0.1
        done
        echo "this never came: $1"
        return 1
      }

      """
    var seen: [String: Int] = [:]
    for step in steps[range] {
      switch step {
      case .commands(let commands): script += commands + "\n"
      case .output(let lines):
        for line in lines {
          let known = line.components(separatedBy: "…")[0]
          seen[known, default: 0] += 1
          script += "await '\(known)' \(seen[known, default: 0])\n"
        }
      }
    }
    return script
  }
}

extension String {
  /// Fails where the text is missing: a page that no longer names an address would be tried against the wrong one.
  public func replacing(_ text: String, with other: String, of page: String) throws -> String {
    guard contains(text) else { throw Tutorial.Failure("\(page) does not name \(text)") }
    return replacingOccurrences(of: text, with: other)
  }
}
