import { useEffect, useRef } from 'preact/hooks';

/** Loads a resource again at an interval, while the page is visible. */
export function useRefresh(reload: () => void, milliseconds: number): void {
  const latest = useRef(reload);
  latest.current = reload;
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) latest.current();
    }, milliseconds);
    return () => clearInterval(timer);
  }, [milliseconds]);
}
