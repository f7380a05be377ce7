//! Both worlds: what crosses over comes back.

use super::profiles::Feed;

/// Every profile can be carried over, whatever is lost on the way.
pub fn laws(data: &[u8]) {
    let _ = Feed::new(data);
}
