/// What somebody can observe of one thing that they did, until everything was quiet again.
struct Probe: Equatable {
  /// What was done. It is the same in both worlds.
  var action: String
  /// The codes of the errors among the answers; empty: all went well.
  var errors: [Int] = []
  /// Bytes of the answers.
  var answerBytes = 0
  /// Rounds of broker, log and link until the last answer. In a round each of them does what waits for it.
  var rounds = 0
  /// Rounds in which the broker waited for something to be read from the disk.
  var reads = 0
  /// What came on channels, by namespace.
  var pushes: [String: Pushes] = [:]
  /// Which channels the person is on in the end, how many entries are listed there, and how many people are present.
  var standing: [String: Int] = [:]
  /// Messages that the person's gateway was sent until the last answer, also those for others, and entries of the log that
  /// were written until all was quiet. Nobody can observe these but as microseconds.
  var messages = 0
  var written = 0

  struct Pushes: Equatable {
    var count = 0
    var bytes = 0
    /// At which look after the answer the first and the last came; look 0 is before the answer.
    var first = 0
    var last = 0
  }

  /// The numbers that a classifier is given, by name: each of this kind of action by itself, and of all actions.
  var features: [String: Double] {
    var features: [String: Double] = [:]
    for scope in ["any", action] {
      features["\(scope) answered"] = 1
      features["\(scope) rounds"] = Double(rounds)
      features["\(scope) reads"] = Double(reads)
      features["\(scope) bytes"] = Double(answerBytes)
      for error in errors { features["\(scope) error \(error)", default: 0] += 1 }
      for (namespace, push) in pushes {
        features["\(scope) \(namespace) count"] = Double(push.count)
        features["\(scope) \(namespace) bytes"] = Double(push.bytes)
        features["\(scope) \(namespace) first"] = Double(push.first)
        features["\(scope) \(namespace) last"] = Double(push.last)
      }
      for (name, number) in standing { features["\(scope) \(name)"] = Double(number) }
    }
    // What is unusual tells more by being there than by being larger.
    features["\(action) \(rounds) rounds, \(reads) reads"] = 1
    features["\(action) \(answerBytes) bytes, errors \(errors)"] = 1
    for (namespace, push) in pushes {
      features["\(action) \(namespace) \(push.count) at \(push.first) to \(push.last)"] = 1
    }
    return features
  }

  /// The same without the time that answers take.
  var featuresWithoutTime: [String: Double] {
    features.filter { !$0.key.hasSuffix(" rounds") && !$0.key.hasSuffix(" reads") }
  }

  /// The same for somebody who could see how much the server does.
  var featuresWithWork: [String: Double] {
    var features = features
    for scope in ["any", action] {
      features["\(scope) messages"] = Double(messages)
      features["\(scope) written"] = Double(written)
    }
    return features
  }
}
