#!/bin/sh
# Makes the root file system of the image, from a static program: root.sh PROGRAM FOLDER. Needs the package
# ca-certificates. No time zones: the program has them built in.
set -eu
program=$1
root=$2

umask 022
mkdir -p "$root/etc/ssl/certs" "$root/usr/bin" "$root/var/lib/matchwire"
install -m 755 "$program" "$root/usr/bin/matchwire"
# By these the hub checks providers, sources, mail servers and PostgreSQL.
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
echo 'matchwire:x:10001:10001::/var/lib/matchwire:/nonexistent' > "$root/etc/passwd"
echo 'matchwire:x:10001:' > "$root/etc/group"
# New volumes get the owner of the folder below them.
chown 10001:10001 "$root/var/lib/matchwire"
chmod 750 "$root/var/lib/matchwire"
