import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTcpServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { UpstreamClient } from '../../src/upstream/client.ts';
import type { Timeouts, UpstreamRequest } from '../../src/upstream/request.ts';
import type { UpstreamResponse } from '../../src/upstream/response.ts';
import { listening as listeningAt } from '../fixtures/server.ts';

export async function listening(
  listener: RequestListener,
): Promise<{ url: string; server: Server }> {
  const server = createServer(listener);
  return { server, url: await listeningAt(server) };
}

/** A server that says whatever it likes, once it has heard a request. */
export async function saying(say: (socket: Socket, connection: number) => void): Promise<string> {
  let connections = 0;
  const server = createTcpServer((socket) => {
    const connection = ++connections;
    socket.on('error', () => {}).on('data', () => say(socket, connection));
  });
  return listeningAt(server);
}

const FOREVER: Timeouts = { connect: 30_000, firstByte: 30_000, idle: 30_000, total: 30_000 };

type Options = Partial<Omit<UpstreamRequest, 'timeouts'>> & { timeouts?: Partial<Timeouts> };

export function upstream(): UpstreamClient {
  const made = new UpstreamClient();
  onTestFinished(() => made.close());
  return made;
}

export function open(url: string, { timeouts, ...others }: Options = {}, by = upstream()) {
  return by.open(url, {
    headers: {},
    signal: new AbortController().signal,
    ...others,
    timeouts: { ...FOREVER, ...timeouts },
  });
}

export function deferred<Value>() {
  let resolve!: (value: Value) => void;
  const promise = new Promise<Value>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** A connection is free again when a turn of the loop has shown that its server keeps it. */
export async function turns(): Promise<void> {
  for (let count = 0; count < 3; count += 1) await new Promise(setImmediate);
}

export async function textOf(exchange: UpstreamResponse): Promise<string> {
  return String(await exchange.bytes(1_000_000));
}

export function controllerOf() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: (reason?: unknown) => controller.abort(reason) };
}
