import { readFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import type { Actor } from '../store/audit/entry.ts';

/** Where requests of this machine come from. */
const LOCAL = 'local';

/** A name that may stand in a header and in a log. */
const USER = /^[A-Za-z_][A-Za-z0-9_.$-]{0,63}$/;

/** A user's name from the environment; null where it is not one. */
function userName(text: unknown): string | null {
  return typeof text === 'string' && USER.test(text) ? text : null;
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
  try {
    return userInfo().username;
  } catch {
    // A container may run as a user that its password file does not list.
    return null;
  }
}

/**
 * The user of a process that has connected to this one over loopback, by the kernel's table of
 * connections. Null fields where the system has no such table.
 *
 * @param clientPort port of the other end
 * @param serverPort port of this end
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
  // The address of 127.0.0.1 in the byte order of either kind of machine.
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
