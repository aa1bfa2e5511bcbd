import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { describeWith } from '../engines/engine.ts';
import { NGINX } from '../engines/nginx.ts';
import { REDIS } from '../engines/redis.ts';
import { ROOT } from '../oriel.ts';
import { copyOfRepository, runDocuments } from '../readme.ts';

const EXAMPLE = 'config/nodes/README.md';

/** What the commands of the document have started, as a document after it. */
const CHECKS = `
\`\`\`sh
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
redis-cli -p 8796 -a "$REDIS_PASSWORD" --no-auth-warning shutdown nosave
grep --quiet 'does not answer' <(tail -f -n +1 node-1.log)
curl --fail-with-body --silent http://127.0.0.1:8791/readyz
remaining 8790
\`\`\`
`;

describeWith([REDIS, NGINX], 'config/nodes', () => {
  test('three daemons start by the written commands and count requests together', async () => {
    const folder = await copyOfRepository();
    const documents = { [EXAMPLE]: readFileSync(join(ROOT, EXAMPLE), 'utf8'), checks: CHECKS };
    const { code, log } = await runDocuments(folder, documents);
    expect(code, log).toBe(0);
    expect(log).toContain('"limits":{"status":"degraded"');
  });
});
