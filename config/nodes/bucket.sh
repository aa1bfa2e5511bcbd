#!/bin/bash
# Starts Ceph's RADOS gateway at 127.0.0.1:8797 for a trial: one monitor, and one OSD that keeps objects in memory.
# Needs S3_BUCKET, S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY. Ceph's own daemons ask for no password here.
set -euo pipefail

folder=$PWD/bucket
fsid=$(cat /proc/sys/kernel/random/uuid)
osd=$(cat /proc/sys/kernel/random/uuid)
mkdir "$folder" "$folder/mon" "$folder/osd" "$folder/rgw"
cat > "$folder/ceph.conf" <<CONF
[global]
fsid = $fsid
mon host = v2:127.0.0.1:8798
auth cluster required = none
auth service required = none
auth client required = none
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
osd objectstore = memstore
memstore device bytes = 2147483648
ms mon client mode = crc
ms client mode = crc
ms cluster mode = crc
ms service mode = crc
ms bind ipv6 = false
public addr = 127.0.0.1
cluster addr = 127.0.0.1
run dir = $folder
log file = $folder/\$name.log
admin socket = $folder/\$name.\$pid.asok
pid file =
keyring = /dev/null
[mon.a]
mon data = $folder/mon
[osd.0]
osd data = $folder/osd
[client.rgw]
rgw frontends = beast endpoint=127.0.0.1:8797
rgw data = $folder/rgw
CONF
export CEPH_CONF=$folder/ceph.conf

monmaptool --create --addv a '[v2:127.0.0.1:8798]' --fsid "$fsid" "$folder/monmap"
ceph-mon --mkfs -i a --monmap "$folder/monmap"
ceph-mon -i a -f > "$folder/mon.out" 2>&1 &
ceph osd new "$osd" 0
ceph-osd -i 0 --mkfs --osd-uuid "$osd"
ceph osd crush add osd.0 1 root=default host=localhost
ceph-osd -i 0 -f > "$folder/osd.out" 2>&1 &
# Without the options it changes to a user who may not read the folder.
as=()
[[ $(id -u) != 0 ]] || as=(--setuser root --setgroup root)
radosgw -n client.rgw "${as[@]}" -f > "$folder/rgw.out" 2>&1 &
radosgw-admin -n client.rgw user create --uid=oriel --display-name=oriel \
  --access-key "$S3_ACCESS_KEY_ID" --secret-key "$S3_SECRET_ACCESS_KEY"
curl --fail-with-body --silent --show-error --retry 60 --retry-connrefused --retry-delay 1 \
  --aws-sigv4 aws:amz:us-east-1:s3 --user "$S3_ACCESS_KEY_ID:$S3_SECRET_ACCESS_KEY" \
  --header 'x-amz-content-sha256: UNSIGNED-PAYLOAD' \
  --request PUT "http://127.0.0.1:8797/$S3_BUCKET"
