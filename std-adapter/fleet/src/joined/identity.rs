//! Which instance this is, unless it was named.

use std::any::Any;

use crate::InstanceId;

/// Keeps others on this machine from having the same id.
pub(super) type Held = Box<dyn Any + Send + Sync>;

/// The machine, and the lowest number that no living instance on it has: a process that is started again gets that of
/// its predecessor. Random where this cannot be told.
pub(super) fn of_this_machine() -> (InstanceId, Option<Held>) {
    #[cfg(target_os = "linux")]
    if let Some((id, held)) = numbered() {
        return (id, Some(held));
    }
    (InstanceId::random(), None)
}

#[cfg(target_os = "linux")]
fn numbered() -> Option<(InstanceId, Held)> {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixDatagram};

    // The host name, of which each container has its own, and the id of the installation.
    let [host, installation] = ["/proc/sys/kernel/hostname", "/etc/machine-id"]
        .map(|path| std::fs::read_to_string(path).unwrap_or_default());
    let (host, installation) = (host.trim(), installation.trim());
    if host.is_empty() && installation.is_empty() {
        return None;
    }
    // As many instances on one machine can be told apart.
    for number in 0..1_024 {
        // A socket with an abstract name: it is in no file system, and the kernel frees it when its process ends, in
        // whatever way.
        let name = format!("atomic-breaker/fleet/{number}");
        match UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name).ok()?) {
            Ok(held) => {
                let id = InstanceId::named(&format!("{host}/{installation}#{number}"));
                return Some((id, Box::new(held)));
            }
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {}
            Err(_) => return None,
        }
    }
    None
}
