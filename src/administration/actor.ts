import { readFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { valueOr } from '../flow.ts';
import type { Actor } from '../store/audit/entry.ts';

/** `from` of acts on this machine. */
const LOCAL = 'local';

/** A user name that is safe in a header and in a log. */
const USER_NAME = /^[A-Za-z_][A-Za-z0-9_.$-]{0,63}$/;

/** A user name from the environment; null where it is invalid. */
function userName(text: unknown): string | null {
  return typeof text === 'string' && USER_NAME.test(text) ? text : null;
}

/** The user of this process. */
export function ownActor(sudoUser: string | undefined = process.env['SUDO_USER']): Actor {
  const uid = process.getuid?.() ?? null;
  return {
    user: ownName(),
    uid,
    sudoUser: userName(sudoUser),
    key: null,
    account: null,
    from: LOCAL,
  };
}

function ownName(): string | null {
  // A container may run as a user that its password file does not list.
  return valueOr(() => userInfo().username, null);
}

/**
 * Finds the user of a process that is connected to this one over loopback, in the kernel's table of
 * connections. The fields are null where the system has no such table.
 *
 * @param clientPort port of the connected process
 * @param serverPort port of this process
 */
export async function peerActor(
  clientPort: number,
  serverPort: number,
  sudoUser: unknown,
): Promise<Actor> {
  const uid = await peerUid(clientPort, serverPort);
  const user = uid === null ? null : await nameOf(uid);
  return { user, uid, sudoUser: userName(sudoUser), key: null, account: null, from: LOCAL };
}

const hex = (port: number) => port.toString(16).toUpperCase().padStart(4, '0');

async function peerUid(clientPort: number, serverPort: number): Promise<number | null> {
  const table = await readFile('/proc/self/net/tcp', 'latin1').catch(() => '');
  // 127.0.0.1 in little-endian and big-endian byte order.
  const loopback = '(?:0100007F|7F000001)';
  const line = new RegExp(
    `^ *\\d+: ${loopback}:${hex(clientPort)} ${loopback}:${hex(serverPort)} 01 \\S+ \\S+ \\S+ +(\\d+) `,
    'm',
  ).exec(table);
  return line === null ? null : Number(line[1]);
}

async function nameOf(uid: number): Promise<string | null> {
  if (uid === process.getuid?.()) return ownName();
  const users = await readFile('/etc/passwd', 'utf8').catch(() => '');
  return new RegExp(`^([^:\\n]+):[^:\\n]*:${uid}:`, 'm').exec(users)?.[1] ?? null;
}
