import { useEffect, useRef } from 'preact/hooks';
import { eventsOf } from './events.ts';
import { send } from './request.ts';

/** Milliseconds before the stream is opened again, which double. */
const RETRY_MS = 1000;
const MAX_RETRY_MS = 30_000;

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** Milliseconds in which the first event comes; a proxy may hold the stream back. */
const FIRST_EVENT_MS = 10_000;

interface EventListeners<Data> {
  readonly onData: (data: Data) => void;
  readonly onGap: () => void;
}

/**
 * Calls a function with the data of each event of a stream. While no stream can be opened, the view polls instead, at
 * intervals that double.
 *
 * @param path of the stream, which begins with an event `open`; null for none
 * @param onGap events may have been missed: load what is shown again
 */
export function useEvents<Data>(
  path: string | null,
  onData: (data: Data) => void,
  onGap: () => void,
): void {
  const listeners = useRef<EventListeners<Data>>({ onData, onGap });
  listeners.current = { onData, onGap };
  useEffect(() => {
    if (path === null) return;
    const controller = new AbortController();
    void follow(path, controller.signal, () => listeners.current);
    return () => controller.abort();
  }, [path]);
}

async function follow<Data>(
  path: string,
  signal: AbortSignal,
  listeners: () => EventListeners<Data>,
): Promise<void> {
  let delay = RETRY_MS;
  for (let attempts = 0; !signal.aborted; attempts += 1) {
    let isOpen = false;
    const opened = () => {
      isOpen = true;
      delay = RETRY_MS;
      if (attempts > 0) listeners().onGap();
    };
    await readStream<Data>(path, signal, opened, (data) => listeners().onData(data));
    if (!isOpen && !signal.aborted) listeners().onGap();
    await pause(delay, signal);
    delay = Math.min(MAX_RETRY_MS, delay * 2);
  }
}

/** Reads one stream of events to its end. @param opened called at its first event */
async function readStream<Data>(
  path: string,
  signal: AbortSignal,
  opened: () => void,
  onData: (data: Data) => void,
): Promise<void> {
  const controller = new AbortController();
  const abort = () => controller.abort();
  signal.addEventListener('abort', abort);
  const timer = setTimeout(abort, FIRST_EVENT_MS);
  try {
    const response = await send(path, { signal: controller.signal });
    for await (const { event, data } of eventsOf(response)) {
      if (event === 'open') {
        clearTimeout(timer);
        opened();
      } else onData(JSON.parse(data) as Data);
    }
  } catch {
    // The server restarts, or the session has ended: then the page for signing in replaces the view.
  }
  clearTimeout(timer);
  signal.removeEventListener('abort', abort);
}
