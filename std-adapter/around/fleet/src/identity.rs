// SPDX-License-Identifier: MIT OR Apache-2.0
//! The identity of this instance, unless it was named.

use std::any::Any;

#[cfg(target_os = "linux")]
use siphasher::sip128::SipHasher24;

use crate::name::InstanceId;

/// Keeps other processes on this machine from having the same id, until it is dropped.
pub(crate) type IdHold = Box<dyn Any + Send + Sync>;

/// The machine, and the lowest number that no living instance on it has: a process that is started again gets that of
/// its predecessor. Random where this cannot be told.
pub(crate) fn of_this_machine() -> (InstanceId, Option<IdHold>) {
    #[cfg(target_os = "linux")]
    if let Some((id, held)) = numbered() {
        return (id, Some(held));
    }
    (InstanceId::random(), None)
}

/// The engine must not learn the id of the installation, which machine-id(5) calls confidential: it may leave the
/// machine only in a keyed cryptographic hash. So that id is the key, as in `sd_id128_get_machine_app_specific`, and
/// what is hashed is public. `SipHash` 2-4 is a pseudorandom function under a secret key of 128 bits, which such an id
/// has and which are too many to try: its results lead neither back to the key nor to what other programs make of it.
/// The opposite, a hash of the id under a key that is published here, would promise nothing of the kind.
#[cfg(target_os = "linux")]
fn id_of(host: &str, installation: &str, number: u32) -> InstanceId {
    // 32 hexadecimal digits; without an id there is nothing to hide.
    let key = u128::from_str_radix(installation, 16).unwrap_or(0);
    let hasher = SipHasher24::new_with_key(&key.to_be_bytes());
    let named = format!("atomic-breaker/fleet/{host}#{number}");
    InstanceId::new(hasher.hash(named.as_bytes()).into())
}

#[cfg(target_os = "linux")]
fn numbered() -> Option<(InstanceId, IdHold)> {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixDatagram};

    // The host name, of which each container has its own, and the id of the installation.
    let machine = ["/proc/sys/kernel/hostname", "/etc/machine-id"]
        .map(|path| std::fs::read_to_string(path).unwrap_or_default());
    let [host, installation] = machine.each_ref().map(|text| text.trim());
    if [host, installation].concat().is_empty() {
        return None;
    }
    // As many instances on one machine can be told apart.
    for number in 0..1_024 {
        // A socket with an abstract name: it is in no file system, and the kernel frees it when its process ends, in
        // whatever way.
        let name = format!("atomic-breaker/fleet/{number}");
        if let Ok(held) = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name).ok()?) {
            return Some((id_of(host, installation, number), Box::new(held)));
        }
    }
    None
}
