import { useEffect, useRef } from 'preact/hooks';
import { SERVER } from './request.ts';

/** Milliseconds before the stream is opened again, which double. */
const RETRY_MS = 1000;
const MAX_RETRY_MS = 30_000;

/** Milliseconds in which the first event comes; a proxy may hold the stream back. */
const FIRST_EVENT_MS = 10_000;

/**
 * Calls a function with the data of each event of a stream. While no stream can be opened, the view polls instead, at
 * intervals that double.
 *
 * @param path of the stream, which begins with an event `open`; null for none
 * @param name of its events
 * @param onGap events may have been missed: load what is shown again
 */
export function useEvents<Data>(
  path: string | null,
  name: string,
  onData: (data: Data) => void,
  onGap: () => void,
): void {
  const latest = useRef({ onData, onGap });
  latest.current = { onData, onGap };
  useEffect(() => {
    if (path === null) return undefined;
    let delay = RETRY_MS;
    let isFirst = true;
    let isOpen = false;
    let source: EventSource;
    let timer: ReturnType<typeof setTimeout>;
    const open = () => {
      isOpen = false;
      source = new EventSource(new URL(path, SERVER));
      timer = setTimeout(retry, FIRST_EVENT_MS);
      source.onerror = retry;
      source.addEventListener('open', (event) => {
        // The browser has an event of this name too, which a proxy may cause that holds the stream back.
        if (!(event instanceof MessageEvent)) return;
        clearTimeout(timer);
        isOpen = true;
        delay = RETRY_MS;
        if (!isFirst) latest.current.onGap();
        isFirst = false;
      });
      source.addEventListener(name, ({ data }) => latest.current.onData(JSON.parse(data) as Data));
    };
    // The browser's own attempts would end after an error status.
    const retry = () => {
      source.close();
      clearTimeout(timer);
      if (!isOpen) latest.current.onGap();
      isFirst = false;
      timer = setTimeout(open, delay);
      delay = Math.min(MAX_RETRY_MS, delay * 2);
    };
    open();
    return () => {
      source.close();
      clearTimeout(timer);
    };
  }, [path]);
}
