#!/bin/sh
# Sets the cluster of compose.yaml up, once: the stream of the log, an operator, a key of a client with all add-ons, the
# key of the source that pushes, and the day that it pushes. Files that are there stay.
set -eu
config=/etc/matchwire/node.toml
db=postgres://matchwire@postgres/matchwire

# Refused until the NATS servers have elected a leader.
tries=0
until matchwire cluster init --config "$config"; do
    tries=$((tries + 1))
    [ "$tries" -lt 60 ]
    sleep 1
done

umask 077
if [ ! -s operator.password ]; then
    head -c 12 /dev/urandom | base64 > new
    matchwire admin create --db "$db" operator < new
    mv new operator.password
fi
if [ ! -s client.key ]; then
    matchwire key create --db "$db" --addon websocket --addon sports --addon odds > new
    mv new client.key
fi
if [ ! -s feed.key ]; then
    matchwire feeds key create --db "$db" simulator > new
    mv new feed.key
fi
if [ ! -s day.ndjson ]; then
    matchwire simulate --seed 1 --events --bookmakers 2 --matches 12 > new
    mv new day.ndjson
fi

echo "clients   http://127.0.0.1:8080 with the key $(cat client.key)"
echo "operator  http://127.0.0.1:8080/admin/ as operator, with the password $(cat operator.password)"
