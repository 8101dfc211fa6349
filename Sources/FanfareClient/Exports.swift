// What stands in this module's interface and is declared in `Wire`, which holds the server's parts of the protocol too:
// these names alone are handed on, so that an app imports `FanfareClient` and nothing else.
@_exported public import struct Wire.ChannelName
@_exported public import struct Wire.ClientError
@_exported public import struct Wire.ClientInfo
@_exported public import struct Wire.DisconnectCode
@_exported public import struct Wire.HistoryPage
@_exported public import class Wire.KeyChange
@_exported public import enum Wire.MapOrder
@_exported public import struct Wire.Publication
@_exported public import struct Wire.StreamPosition
@_exported public import enum Wire.TagFilter
@_exported public import struct Wire.UnsubscribeCode
