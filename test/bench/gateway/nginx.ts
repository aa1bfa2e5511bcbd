import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Server } from '../daemon/server.ts';
import { freePort } from '../free-port.ts';
import { findProgram } from '../peers.ts';
import { chat, messages, responses } from './formats.ts';

export const nginx = findProgram('nginx', 'nginx-light');

/** Starts the upstream of all gateways: a whole response in each format, chosen by path. */
export function startFixedUpstream(folder: string): Promise<Server> {
  const locations = [chat, responses, messages].map(({ path, answer }) => {
    const body = JSON.stringify(answer());
    // These characters have a meaning in nginx's configuration.
    if (/['\\$]/.test(body)) throw new Error(`an answer that nginx cannot be given: ${body}`);
    return `location = ${path} { default_type application/json; return 200 '${body}'; }`;
  });
  return startNginx(folder, '', locations.join('\n'));
}

/** Starts nginx as a gateway: proxy_pass with connections kept. */
export function startProxy(folder: string, upstream: string): Promise<Server> {
  const { host } = new URL(upstream);
  return startNginx(
    folder,
    `upstream behind { server ${host}; keepalive 128; keepalive_requests 1000000000; }`,
    `location / {
      proxy_pass http://behind;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }`,
  );
}

/** One process, so that its CPU time is the total of nginx. */
export async function startNginx(
  folder: string,
  before: string,
  locations: string,
  readyPath = chat.path,
): Promise<Server> {
  const port = await freePort();
  mkdirSync(folder, { recursive: true });
  const configuration = join(folder, 'nginx.conf');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(folder, name)};`,
  );
  writeFileSync(
    configuration,
    `daemon off;
master_process off;
pid ${join(folder, 'pid')};
error_log stderr crit;
events { worker_connections 1024; }
http {
  access_log off;
  keepalive_requests 1000000000;
  keepalive_timeout 1h;
  ${temporary.join('\n  ')}
  ${before}
  server {
    listen 127.0.0.1:${port};
    ${locations}
  }
}
`,
  );
  const args = ['-p', folder, '-e', 'stderr', '-c', configuration];
  return Server.program({ folder, file: nginx.file!, args }, `http://127.0.0.1:${port}`, readyPath);
}
