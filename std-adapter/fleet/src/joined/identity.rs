//! Which instance this is, unless it was named.

use crate::InstanceId;

/// How many instances on one machine can be told apart.
#[cfg(target_os = "linux")]
const MOST: u32 = 1_024;

/// The id of an instance, and what keeps others on this machine from having the same.
pub(super) struct Identity {
    pub(super) id: InstanceId,
    #[cfg(target_os = "linux")]
    _held: Option<std::os::unix::net::UnixDatagram>,
}

impl Identity {
    pub(super) fn named(id: InstanceId) -> Self {
        Self {
            id,
            #[cfg(target_os = "linux")]
            _held: None,
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn of_this_machine() -> Self {
        Self::named(InstanceId::random())
    }

    /// The machine, and the lowest number that no living instance on it has: a process that is started again gets that
    /// of its predecessor. Random where this cannot be told.
    #[cfg(target_os = "linux")]
    pub(super) fn of_this_machine() -> Self {
        use std::os::linux::net::SocketAddrExt;
        use std::os::unix::net::{SocketAddr, UnixDatagram};

        // The host name, of which each container has its own, and the id of the installation.
        let [host, installation] = ["/proc/sys/kernel/hostname", "/etc/machine-id"]
            .map(|path| std::fs::read_to_string(path).unwrap_or_default());
        let (host, installation) = (host.trim(), installation.trim());
        if host.is_empty() && installation.is_empty() {
            return Self::named(InstanceId::random());
        }
        for number in 0..MOST {
            // A socket with an abstract name: it is in no file system, and the kernel frees it when its process ends,
            // in whatever way.
            let address = SocketAddr::from_abstract_name(format!("atomic-breaker/fleet/{number}"));
            match address.and_then(|address| UnixDatagram::bind_addr(&address)) {
                Ok(held) => {
                    return Self {
                        id: InstanceId::named(&format!("{host}/{installation}#{number}")),
                        _held: Some(held),
                    };
                }
                Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {}
                Err(_) => break,
            }
        }
        Self::named(InstanceId::random())
    }
}
