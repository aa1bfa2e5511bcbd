import { useEffect, useState } from 'preact/hooks';
import { SERVER } from '../app/address.ts';
import { onSessionEnd, sendJson } from './request.ts';

/** Who is signed in. */
export interface Session {
  readonly account: {
    readonly id: string;
    readonly name: string;
    readonly plan: 'free' | 'paid';
  };
  readonly key: { readonly id: string; readonly name: string };
  /** Whether the key may administer the server. */
  readonly owner: boolean;
  /** Seconds since the epoch. */
  readonly expires: number | null;
}

interface SessionAnswer extends Omit<Session, 'account'> {
  readonly account: Session['account'] | null;
}

/** Undefined until the server answered; null without a session. */
let current: Session | null | undefined;
const listeners = new Set<() => void>();

function set(session: Session | null): void {
  current = session;
  for (const listener of listeners) listener();
}

function sessionOf({ account, ...rest }: SessionAnswer): Session | null {
  return account && { account, ...rest };
}

onSessionEnd(() => set(null));

/** Asks the server who is signed in. @throws ApiError */
export async function loadSession(): Promise<void> {
  set(sessionOf(await sendJson<SessionAnswer>('v1/session')));
}

/** Exchanges an API key for a session. @throws ApiError */
export async function signIn(key: string): Promise<void> {
  const path = encodeURIComponent(SERVER.pathname);
  const answer = await sendJson<SessionAnswer>(`v1/session?path=${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
  });
  set(sessionOf(answer));
}

/** Ends the session. @throws ApiError */
export async function signOut(): Promise<void> {
  const path = encodeURIComponent(SERVER.pathname);
  await sendJson(`v1/session?path=${path}`, { method: 'DELETE' });
  set(null);
}

/** The session; undefined until the server answered, null without a session. */
export function useSession(): Session | null | undefined {
  const [session, setSession] = useState(current);
  useEffect(() => {
    const listener = () => setSession(current);
    listeners.add(listener);
    listener();
    return () => void listeners.delete(listener);
  }, []);
  return session;
}
