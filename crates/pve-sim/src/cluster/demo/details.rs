//! What the guests of the demo cluster are made of, and what is inside them.

use crate::cluster::{Cluster, Inside, Kind};

const GIB: u64 = 1 << 30;

/// Gives every guest a storage and most VMs an agent that answers, and some of them something to see.
pub(super) fn add(demo: &mut Cluster, now: u64) {
    let day = 86_400;
    for guest in &mut demo.guests {
        "local-zfs".clone_into(&mut guest.details.storage);
        if guest.kind == Kind::Qemu {
            let made = now.saturating_sub(guest.uptime + 30 * day);
            guest.details.set("meta", &format!("creation-qemu=10.0.13,ctime={made}"));
        }
        let is_windows = guest.tags.iter().any(|tag| tag == "windows");
        if guest.kind == Kind::Qemu && guest.is_up() {
            let name = guest.name.clone().unwrap_or_default();
            let [.., low] = guest.vmid.to_be_bytes();
            let address = format!("192.168.10.{low}");
            let (os, device, mount, kind): (&[_], _, _, _) = if is_windows {
                (&WINDOWS, "Ethernet", "C:\\", "NTFS")
            } else {
                (&LINUX, "ens18", "/", "ext4")
            };
            let mac = guest.nics.first().map(|nic| nic.mac.clone()).unwrap_or_default();
            let used = guest.disk / 100 * (30 + u64::from(guest.vmid) % 50);
            let addresses = [(address.as_str(), 24), ("fe80::be24:11ff:fe00:1", 64)];
            guest.details.inside = Some(
                Inside::new(&name, os)
                    .interface(device, &mac, &addresses)
                    .file_system(mount, kind, used, guest.disk),
            );
        }
        if is_windows {
            guest.details.set("ostype", "win11").set("bios", "ovmf").set("machine", "pc-q35-9.2");
        }
        if guest.ha.is_some() || guest.pool.as_deref() == Some("infrastructure") {
            guest.details.set("onboot", "1");
        }
    }
    let mut edit = |vmid, edit: &dyn Fn(&mut crate::Guest)| {
        if let Some(guest) = demo.guest_mut(vmid) {
            edit(guest);
        }
    };
    edit(111, &|postgres| {
        let details = &mut postgres.details;
        details
            .set("cpu", "host,flags=+aes")
            .set("affinity", "8-15")
            .set("balloon", "16384")
            .set("numa", "1")
            .set("startup", "order=1,up=30")
            .set("description", "Owner: DBA team\nDo not reboot without asking.")
            .set(
                "scsi0",
                "local-zfs:vm-111-disk-0,cache=writeback,discard=on,iothread=1,size=400G,ssd=1",
            )
            .change("memory", Some("49152"))
            .change("net1", Some("virtio=BC:24:11:00:6F:01,bridge=vmbr1,tag=30"));
    });
    edit(113, &|erp| erp.details.inside = None);
    edit(120, &|gitlab| {
        let details = &mut gitlab.details;
        details.snapshot("before-17", None, now - 40 * day, "before the upgrade to 17");
        details.snapshot("before-18", Some("before-17"), now - 9 * day, "before the upgrade to 18");
        details.snapshot("test-runner", Some("before-17"), now - 30 * day, "");
        details.set("protection", "1");
    });
    edit(121, &|runner| {
        runner
            .details
            .set("ciuser", "ci")
            .set("cipassword", "**********")
            .set("sshkeys", "ssh-ed25519%20AAAA%20ci")
            .set("ipconfig0", "ip=192.168.10.121/24,gw=192.168.10.1")
            .set("ide2", "local-zfs:vm-121-cloudinit,media=cdrom");
    });
    edit(130, &|home| {
        home.agent = false;
        home.details.set("usb0", "host=10c4:ea60").set("hostpci0", "0000:01:00.0,pcie=1");
    });
    edit(202, &|prometheus| {
        prometheus
            .details
            .set("mp0", "local-zfs:subvol-202-disk-1,mp=/var/lib/prometheus,size=200G")
            .set("mp1", "/mnt/archive,mp=/archive,ro=1")
            .set("features", "nesting=1");
    });
    edit(126, &|staging| {
        staging.disks.push("scsi1".to_owned());
        staging.details.set("ide2", "none,media=cdrom");
    });
    edit(201, &|proxy| {
        let mut second = proxy.nics.first().cloned();
        if let Some(nic) = &mut second {
            (nic.tag, nic.mac) = (Some(20), "BC:24:11:00:C9:01".to_owned());
        }
        proxy.nics.extend(second);
    });
    edit(110, &|mail| mail.nics.iter_mut().for_each(|nic| nic.tag = Some(30)));
    edit(123, &|nextcloud| {
        nextcloud.details.set("unused0", "nas:123/vm-123-disk-9.qcow2");
        nextcloud.usage.received = 900 * GIB;
    });
}

const LINUX: [(&str, &str); 5] = [
    ("pretty-name", "Debian GNU/Linux 13 (trixie)"),
    ("name", "Debian GNU/Linux"),
    ("version", "13 (trixie)"),
    ("kernel-release", "6.12.57+deb13-amd64"),
    ("machine", "x86_64"),
];

const WINDOWS: [(&str, &str); 4] = [
    ("pretty-name", "Windows Server 2022 Standard"),
    ("name", "Microsoft Windows"),
    ("kernel-release", "20348"),
    ("machine", "x86_64"),
];
