import TestSupport
import Testing

@testable import Gateway

@Suite("Cleaning pictures of what may tell of a place")
struct PictureCleaningTests {
  private static let most = 8192

  private func clean(_ bytes: [UInt8], mostPixels: Int = most) throws -> PictureCleaning.Result {
    try PictureCleaning.clean(bytes, mostPixels: mostPixels)
  }

  @Test("what shows the picture stays byte for byte, and nothing else but how to turn it", arguments: 0..<8)
  func samples(orientation: Int) throws {
    let kinds = PictureSample.WebPKind.allCases.map { PictureSample.webP($0, orientation: orientation) }
    for sample in [.jpeg(orientation: orientation), .png(orientation: orientation)] + kinds {
      #expect(PictureSample.tells(sample.dirty) && !PictureSample.tells(sample.clean))
      let result = try clean(sample.dirty)
      let isSame = result.bytes == sample.clean
      #expect(isSame, "\(sample.type), orientation \(orientation)")
      #expect(result.format.rawValue == sample.type && result.width == sample.width && result.height == sample.height)
    }
  }

  @Test("what is clean stays as it is")
  func again() throws {
    for sample in PictureSample.all {
      let isSame = try clean(sample.clean).bytes == sample.clean
      #expect(isSame, "\(sample.type)")
    }
  }

  @Test("a file that ends early is refused wherever it ends; one that goes on behind its end is cut")
  func truncated() throws {
    for sample in PictureSample.all {
      for count in sample.dirty.indices {
        let isWhole = count >= sample.end
        do throws(PictureCleaning.Refusal) {
          let result = try PictureCleaning.clean(Array(sample.dirty[..<count]), mostPixels: Self.most)
          let isSame = result.bytes == sample.clean
          #expect(isWhole && isSame, "\(sample.type) of \(count) bytes")
        } catch {
          #expect(!isWhole, "\(sample.type) of \(count) bytes: \(error.sentence)")
        }
      }
    }
  }

  @Test("whatever is changed in a file, it is refused or cleaned, and to clean it once more changes nothing")
  func damaged() throws {
    var generator = SeededGenerator(seed: 55)
    var accepted = 0
    for round in 0..<6000 {
      var bytes = PictureSample.all[round % PictureSample.all.count].dirty
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        let place = Int.random(in: 0..<bytes.count, using: &generator)
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
        case 1: bytes[place] = [0, 1, 0x7F, 0x80, 0xFF, 0xD9, 0xE1].randomElement(using: &generator) ?? 0
        case 2: bytes.remove(at: place)
        default: bytes.insert(0xFF, at: place)
        }
      }
      guard let result = try? clean(bytes) else { continue }
      accepted += 1
      // The orientation is all that is ever added.
      #expect(result.bytes.count <= bytes.count + 64)
      let again = try clean(result.bytes)
      let isSame = again == result
      #expect(isSame, "round \(round)")
    }
    #expect(accepted > 500, "hardly a change is accepted, so this shows little")
  }

  @Test("bytes of no picture are refused, whatever they begin with")
  func noise() {
    var generator = SeededGenerator(seed: 7)
    let beginnings: [[UInt8]] = [
      [], [0xFF, 0xD8, 0xFF], PNGCleaning.signature, Array("RIFF".utf8) + [200, 0, 0, 0] + Array("WEBP".utf8),
      [0, 0, 0, 24] + Array("ftypheic".utf8),
    ]
    for round in 0..<2000 {
      let noise = (0..<Int.random(in: 0...300, using: &generator)).map { _ in
        UInt8.random(in: 0...255, using: &generator)
      }
      #expect(throws: PictureCleaning.Refusal.self) { try clean(beginnings[round % beginnings.count] + noise) }
    }
  }

  @Test("a picture has no more pixels a side than are allowed, and some")
  func pixels() throws {
    for (width, height) in [(100, 101), (101, 100)] {
      let samples: [PictureSample] = [
        .jpeg(width: width, height: height), .png(width: width, height: height),
        .webP(.lossy, width: width, height: height),
        .webP(.lossless, width: width, height: height), .webP(.animated, width: width, height: height),
      ]
      for sample in samples {
        #expect(try clean(sample.dirty, mostPixels: 101).width == width)
        let refusal = PictureCleaning.Refusal.tooLarge(100)
        #expect(throws: refusal) { try clean(sample.dirty, mostPixels: 100) }
      }
    }
    for sample in [PictureSample.jpeg(width: 0), .png(height: 0), .webP(.lossy, width: 0)] {
      #expect(throws: PictureCleaning.Refusal.malformed) { try clean(sample.dirty) }
    }
  }

  @Test("an orientation is read from either byte order, and from nothing that is broken")
  func orientation() {
    #expect(PictureOrientation.read(PictureOrientation.block(8)[...]) == 8)
    #expect(PictureOrientation.read(PictureOrientation.block(9)[...]) == nil)
    let block = PictureOrientation.block(3)
    for count in 0..<20 { #expect(PictureOrientation.read(block[..<count]) == nil) }
    var far = block
    far[4] = 0xFF
    #expect(PictureOrientation.read(far[...]) == nil)
    var many = block
    (many[8], many[9], many[11]) = (0xFF, 0xFF, 0x13)
    #expect(PictureOrientation.read(many[...]) == nil)
  }
}
