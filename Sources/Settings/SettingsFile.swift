/// Reads the JSON file into a layer.
struct SettingsFile {
  var layer: SettingsLayer
  let file: String

  static func layer(_ bytes: [UInt8], file: String) -> SettingsLayer {
    var reader = SettingsFile(layer: SettingsLayer(name: file), file: file)
    do throws(JSONSyntaxError) {
      let (document, duplicates) = try PositionedJSONParser.parse(bytes)
      for duplicate in duplicates {
        reader.layer.report(
          .file(file, line: duplicate.line), duplicate.path,
          "is written twice, first on line \(duplicate.firstLine); keep one of them")
      }
      reader.section(document, path: [])
    } catch {
      reader.layer.isUnreadable = true
      reader.layer.report(.file(file, line: error.line), "", "column \(error.column): \(error.message)")
    }
    return reader.layer
  }

  /// Depth is that of the table: what is no section is not walked into.
  private mutating func section(_ json: PositionedJSON, path: [String]) {
    let name = path.joined(separator: ".")
    guard case .object(let members) = json.value else {
      let what = name.isEmpty ? "the file does not hold an object" : "is not an object"
      return layer.report(
        .file(file, line: json.line), name, "\(what); write { \"\(SettingTable.children(of: name).first ?? "")\": … }")
    }
    for member in members {
      let path = path + [member.key]
      let child = path.joined(separator: ".")
      if child == SettingTable.namespaces {
        namespaces(member.value)
      } else if child == Settings.Webhook.section {
        webhooks(member.value)
      } else if let key = SettingTable.byName[child] {
        layer.add(key, .file(file, line: member.line)) { key throws(SettingFault) in try key.parse(member.value) }
      } else if SettingTable.sections.contains(child) {
        section(member.value, path: path)
      } else {
        layer.report(.file(file, line: member.line), child, SettingsLayer.unknown(member.key, in: name))
      }
    }
  }

  private mutating func namespaces(_ json: PositionedJSON) {
    guard case .array(let elements) = json.value else {
      return layer.report(
        .file(file, line: json.line), SettingTable.namespaces,
        "is not a list; write [ { \"name\": \"chat\", \"presence\": true } ]")
    }
    for (index, element) in elements.enumerated() {
      let place = "\(SettingTable.namespaces)[\(index)]"
      guard case .object(let members) = element.value else {
        layer.report(
          .file(file, line: element.line), place, "is not an object; write { \"name\": \"chat\", \"presence\": true }")
        continue
      }
      if let name = namespaceName(members, line: element.line, place: place) { options(members, namespace: name) }
    }
  }

  /// Nil, and a problem, where the namespace has no usable name.
  private mutating func namespaceName(_ members: [PositionedJSON.Member], line: Int, place: String) -> String? {
    guard let member = members.first(where: { $0.key == "name" }) else {
      layer.report(.file(file, line: line), place, "has no name; add \"name\": \"chat\"")
      return nil
    }
    let source = SettingSource.file(file, line: member.line)
    guard case .string(let name) = member.value.value, !name.isEmpty else {
      layer.report(source, place + ".name", "is not a name; write text in double quotes, for example \"chat\"")
      return nil
    }
    guard name.utf8.count <= 64, name.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) })
    else {
      let colon = name.contains(":") ? " (the colon stands between a namespace and the rest of a channel's name)" : ""
      layer.report(
        source, place + ".name",
        "is \(SettingKey.quote(name)); write at most 64 letters, digits, '-', '_' or '.'\(colon)")
      return nil
    }
    if let first = layer.namespaces.first(where: { $0.name == name }) {
      layer.report(
        source, place + ".name", "is \"\(name)\" again, like at \(first.source); merge the two or rename one")
      return nil
    }
    layer.namespaces.append((name, source))
    return name
  }

  private mutating func options(_ members: [PositionedJSON.Member], namespace: String) {
    let keys = SettingTable.namespaceKeys(namespace)
    for member in members where member.key != "name" {
      let source = SettingSource.file(file, line: member.line)
      if let key = keys.first(where: { $0.path.last == member.key }) {
        layer.add(key, source) { key throws(SettingFault) in try key.parse(member.value) }
      } else {
        let name = "\(SettingTable.namespaces).\(namespace).\(member.key)"
        layer.report(source, name, SettingsOverrides.unknownOption(member.key))
      }
    }
  }
}
