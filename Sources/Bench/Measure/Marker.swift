/// What a publication's content begins with, so that whoever receives it knows which one it is and when it was due.
///
/// Plain ASCII that stands in JSON strings and binary payloads alike, 34 characters:
///
///     ~ff~ gggg ssssssssss tttttttttttttttt
///     magic group sequence intended time (ns of CLOCK_MONOTONIC), in lower-case hexadecimal, without the spaces
///
/// In JSON the content is a string: a quotation mark, the marker, filler of `x`, a quotation mark. In all other formats
/// it is the marker and the filler. Either way the content is as long as the scenario's `payload` says.
public enum Marker {
  public static let magic: StaticString = "~ff~"
  public static let length = 34
}
