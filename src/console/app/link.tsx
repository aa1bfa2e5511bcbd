import type { ComponentChildren, PartialAnchorHTMLAttributes } from 'preact';
import { hrefOf, open } from './address.ts';

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
