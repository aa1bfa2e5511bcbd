import type { SessionAnswer } from '../../http/routes/account/session.ts';
import { Listeners, useChanges } from './listeners.ts';
import { SERVER, sendJson, sessionEnd } from './request.ts';

/** Who is signed in. */
export interface Session extends Omit<SessionAnswer, 'account' | 'key'> {
  readonly account: NonNullable<SessionAnswer['account']>;
  readonly key: NonNullable<SessionAnswer['key']>;
}

/** Undefined until the server answered; null without a session. */
let current: Session | null | undefined;
const changes = new Listeners();

function set(session: Session | null): void {
  current = session;
  changes.call();
}

function sessionOf({ account, key, ...rest }: SessionAnswer): Session | null {
  return account && key && { account, key, ...rest };
}

sessionEnd.add(() => set(null));

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

/** Tabs of this server, which forget the account together. */
const tabs = new BroadcastChannel(`oriel.session ${SERVER.pathname}`);
tabs.onmessage = forget;

/** Ends the session. @throws ApiError */
export async function signOut(): Promise<void> {
  const path = encodeURIComponent(SERVER.pathname);
  await sendJson(`v1/session?path=${path}`, { method: 'DELETE' });
  tabs.postMessage('signed out');
  forget();
}

/** Loads the page anew, without what views have of the account in memory and in the storage of the tab. */
function forget(): void {
  // Runs after the listeners of views, which keep their content for a reload.
  addEventListener('pagehide', () => {
    try {
      sessionStorage.clear();
    } catch {
      // A browser that denies storage has nothing in it.
    }
  });
  // The back button may show a page from memory.
  addEventListener('pageshow', ({ persisted }) => persisted && location.reload());
  set(null);
  // Views are left by then, and none asks whether to stay.
  setTimeout(() => location.replace(new URL('console/', SERVER)));
}

/** The session; undefined until the server answered, null without a session. */
export function useSession(): Session | null | undefined {
  useChanges(changes);
  return current;
}
