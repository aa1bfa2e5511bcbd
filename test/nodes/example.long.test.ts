import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { freePort } from '../bench/free-port.ts';
import { CEPH } from '../engines/ceph.ts';
import { describeWith, engine } from '../engines/engine.ts';
import { NGINX } from '../engines/nginx.ts';
import { REDIS } from '../engines/redis.ts';
import { WebhookReceiver } from '../media/webhook-receiver.ts';
import { ROOT } from '../oriel.ts';
import { copyOfRepository, runDocuments } from '../readme.ts';
import { checkExample, failedRequests } from './example-client.ts';

const EXAMPLE = 'config/nodes/README.md';
/** Files with ports from 8790 to 8798, which other programs may use: the test moves them to free ones. */
const FILES = ['oriel.yaml', 'nginx.conf', 'redis.conf', 'bucket.sh'];

/** Heading of the commands that the client does not wait for. */
const RESTART = '## Restart and upgrade';
const POSTGRES = {
  packageName: 'postgresql-15',
  program: existsSync('/usr/lib/postgresql/15/bin/initdb') ? 'initdb' : null,
};

/** The database is outside of the folder of the test, which its user cannot read. */
const CLEANUP = `
\`\`\`sh
trap 'kill -9 $(head -1 "\${database:-}/data/postmaster.pid") && rm -rf "$database" || true' EXIT
\`\`\`
`;

/** Waits for the client of the test, between the start of the nodes and the other commands of the document. */
const CLIENT = `
\`\`\`sh
echo "$ORIEL_BOOTSTRAP_KEY" > "$HOME/key"
until [[ -e $HOME/done ]]; do sleep 0.1; done
[[ $(oriel nodes --config oriel.yaml --json | grep -o '"id"' | wc -l) -ge 3 ]]
\`\`\`
`;

/** What the commands of the document have started, as a document after it. */
const CHECKS = `
\`\`\`sh
touch "$HOME/restarted"
remaining() {
  curl --fail-with-body --silent --show-error --output /dev/null --dump-header - \\
    --header "Authorization: Bearer $ORIEL_BOOTSTRAP_KEY" "http://127.0.0.1:$1/v1/models" |
    tr -d '\\r' | sed -n 's/^x-ratelimit-remaining-requests: //p'
}
# Whether each request counts for the next one. A node that waited 50 ms under load counts by itself.
areShared() {
  local before= now
  for port in "$@"; do
    now=$(remaining $port)
    [[ -z $before || $now == $((before - 1)) ]] || return 1
    before=$now
  done
}
until areShared 8790 8791 8792 8793 8790; do sleep 1; done
kill -9 $(cat node-2.pid)
until areShared 8790 8790 8790 8790 8790 8790; do sleep 1; done
redis-cli -p 8796 -a "$password" --no-auth-warning shutdown nosave
grep --quiet 'does not answer' <(tail -f -n +1 node-1.log)
curl --fail-with-body --silent http://127.0.0.1:8791/readyz
remaining 8790
\`\`\`
`;

const RUNUSER = process.getuid?.() === 0 ? [engine('util-linux', 'runuser')] : [];

describeWith([REDIS, NGINX, POSTGRES, ...CEPH, ...RUNUSER], 'config/nodes', () => {
  test('three daemons start by the written commands and serve SDK clients as one', async () => {
    const folder = await copyOfRepository();
    const home = dirname(folder);
    const receiver = await WebhookReceiver.open();
    onTestFinished(() => receiver.close());
    // The receiver of callbacks has a private address. Overload is not under test, even on a busy machine.
    appendFileSync(
      join(folder, 'config/nodes/oriel.yaml'),
      'network: { allowPrivateAddresses: true }\noverload: { eventLoopDelay: 1h }\n',
    );
    const port = await freePort(10);
    const moved = (text: string) => text.replace(/\b879(?=[\d$])/g, `${port / 10}`);
    for (const file of FILES) {
      const path = join(folder, 'config/nodes', file);
      writeFileSync(path, moved(readFileSync(path, 'utf8')));
    }
    const [start, restart] = moved(readFileSync(join(ROOT, EXAMPLE), 'utf8')).split(RESTART);
    const documents = {
      cleanup: CLEANUP,
      [EXAMPLE]: start!,
      client: CLIENT,
      [`${EXAMPLE} after ${RESTART}`]: restart!,
      checks: moved(CHECKS),
    };
    const path = process.env['PATH'];
    onTestFinished(() => {
      process.env['PATH'] = path;
    });
    // As that of a user other than root in Debian.
    process.env['PATH'] = path!.replaceAll(/[^:]*\/sbin:?/g, '');
    const run = runDocuments(folder, documents);
    const keyFile = join(home, 'key');
    const started = (async () => {
      while (!existsSync(keyFile) || readFileSync(keyFile, 'utf8') === '') await delay(100);
      return readFileSync(keyFile, 'utf8').trim();
    })();
    const first = await Promise.race([started, run]);
    if (typeof first !== 'string') expect(first.code, first.log).toBe(0);
    else {
      const [proxy, ...nodes] = [0, 1, 2, 3].map((index) => `http://127.0.0.1:${port + index}`);
      const example = { proxy: proxy!, nodes, key: first };
      try {
        await checkExample(example, receiver);
      } finally {
        writeFileSync(join(home, 'done'), '');
      }
      const isOver = () => existsSync(join(home, 'restarted'));
      const failures = await failedRequests(example, { run, isOver });
      expect(failures, failures.join('\n')).toEqual([]);
    }
    const { code, log } = await run;
    expect(code, log).toBe(0);
    expect(log).toContain('"limits":{"status":"degraded"');
  });
});
