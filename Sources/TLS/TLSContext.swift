/// What connections of one side share.
public final class TLSContext: Sendable {
}
