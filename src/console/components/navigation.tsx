import type { ComponentChildren, PartialAnchorHTMLAttributes } from 'preact';
import { Listeners, useChanges } from '../api/listeners.ts';
import { SERVER } from '../api/request.ts';
import type { Session } from '../api/session.ts';

const CONSOLE = new URL('console/', SERVER).pathname;

/** A place in the console: `/console/tasks/task_1?status=failed`. */
export interface Place {
  /** Name of the view: `tasks`; empty for the start. */
  readonly view: string;
  /** What follows the view in the path, decoded: `task_1`; empty for none. */
  readonly rest: string;
  readonly query: URLSearchParams;
}

/** What every view gets. */
export interface ViewProps {
  readonly place: Place;
  /** Null only in views that need no key. */
  readonly session: Session;
}

function currentPlace(): Place {
  const { pathname, search } = location;
  const [view = '', ...rest] = pathname.slice(CONSOLE.length).split('/');
  return { view, rest: decoded(rest.join('/')), query: new URLSearchParams(search) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** URL of a place in the console. @param place such as `tasks` or `tasks/task_1?a=b` */
const hrefOf = (place: string): string => CONSOLE + place;

const changes = new Listeners();

/** Opens a place in the console. @param replace does not add to the history: for filters of a view */
export function open(place: string, { replace = false } = {}): void {
  const url = hrefOf(place);
  if (replace) history.replaceState(null, '', url);
  else history.pushState(null, '', url);
  changes.call();
}

addEventListener('popstate', changes.call);

/** The current place; the component renders again when it changes. */
export function usePlace(): Place {
  useChanges(changes);
  return currentPlace();
}

interface LinkProps extends Omit<PartialAnchorHTMLAttributes<HTMLAnchorElement>, 'href' | 'role'> {
  /** A place in the console: `tasks/task_1`. */
  readonly to: string;
  readonly children: ComponentChildren;
}

/** A link to a place in the console, which opens without loading the page again. */
export function Link({ to, children, ...rest }: LinkProps) {
  const follow = (event: MouseEvent) => {
    const { button, ctrlKey, metaKey, shiftKey, altKey } = event;
    // Another tab, another window or a download.
    if (button !== 0 || ctrlKey || metaKey || shiftKey || altKey) return;
    event.preventDefault();
    open(to);
  };
  return (
    <a {...rest} href={hrefOf(to)} onClick={follow}>
      {children}
    </a>
  );
}
