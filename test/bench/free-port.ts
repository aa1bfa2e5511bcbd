import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

const LOWEST = 10_000;

/**
 * A port of 127.0.0.1 for a server that is started later, or again and again at the same one. It stays free until
 * this process ends: the kernel gives it to no outgoing connection, and `freePort` of no other process returns it.
 *
 * @param count consecutive ports, of which the first is returned, a multiple of this number
 */
export async function freePort(count = 1): Promise<number> {
  const end = firstEphemeral();
  for (let attempt = 0; attempt < 1000; attempt += 1) {
    const first = count * randomInt(Math.ceil(LOWEST / count), Math.floor(end / count));
    if (await areFree(first, first + count)) return first;
  }
  throw new Error(`no port from ${LOWEST} to ${end - 1} is free`);
}

async function areFree(first: number, end: number): Promise<boolean> {
  for (let port = first; port < end; port += 1) {
    if (!((await reserve(port)) && (await canListen(port)))) return false;
  }
  return true;
}

/** The first port of those that the kernel chooses from, for `listen(0)` and outgoing connections. */
function firstEphemeral(): number {
  try {
    const first = Number.parseInt(
      readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8'),
      10,
    );
    // Where the kernel is set to choose from nearly all ports, none are safe from it.
    if (first > LOWEST + 1000) return first;
  } catch {
    // Other systems than Linux choose from 49152 or a higher port on.
  }
  return 32_768;
}

/** Binds the UDP port of the same number, which no server uses: the kernel frees it when the process ends. */
function reserve(port: number): Promise<boolean> {
  const socket = createSocket('udp4').unref();
  return new Promise((resolve) => {
    socket.once('error', () => {
      socket.close();
      resolve(false);
    });
    socket.bind({ port, address: '127.0.0.1', exclusive: true }, () => resolve(true));
  });
}

async function canListen(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen({ port, host: '127.0.0.1', exclusive: true }), 'listening');
    server.close();
    await once(server, 'close');
    return true;
  } catch {
    return false;
  }
}
