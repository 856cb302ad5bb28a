//! The versions of what the hub stores and sends. The tests in `hub/saved/tests/` fail if one of them was not raised.

/// The version of the bytes of the state that the hub saves. It must be raised with each change of a type of the state or of
/// `facts::event`. Without the channels of the older sockets it is another one.
pub const STATE_FORMAT: u16 = if cfg!(feature = "legacy-sockets") { 3 } else { 0x8003 };

/// The version of the encoding of inputs in records. It must be raised with each change of `HubInput` or of a type of
/// `facts::event`.
pub const INPUTS_FORMAT: u8 = 3;

/// The version of the public documents. It must be raised with each change of how a state is rendered or how
/// updates are made: clients that resume after an upgrade then get an image in a new epoch. Otherwise they would keep
/// a document that the new version does not have.
pub const DOCUMENT_FORMAT: u16 = 3;
