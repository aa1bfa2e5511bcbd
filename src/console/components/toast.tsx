import { Listeners, useChanges } from '../api/listeners.ts';
import { CloseButton } from './button.tsx';

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly isFault: boolean;
}

const VISIBLE_MS = 6000;

let toasts: readonly Toast[] = [];
let nextId = 1;
const changes = new Listeners();

function set(next: readonly Toast[]): void {
  toasts = next;
  changes.call();
}

/** Shows a message for some seconds, which screen readers read: `Copied`. A fault stays until it is closed. */
export function showToast(text: string, { isFault = false } = {}): void {
  const id = nextId++;
  set([...toasts, { id, text, isFault }].slice(-4));
  if (!isFault) setTimeout(() => close(id), VISIBLE_MS);
}

function close(id: number): void {
  set(toasts.filter((toast) => toast.id !== id));
}

/** The one place of toasts, in the frame. */
export function Toasts() {
  useChanges(changes);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.map(({ id, text, isFault }) => (
        <p key={id} class={isFault ? 'toast bad' : 'toast'}>
          <span>{text}</span>
          <CloseButton onClick={() => close(id)} />
        </p>
      ))}
    </div>
  );
}
