import type { RefObject } from 'preact';
import type { Model } from '../../api/resource.ts';
import type { ChatStore } from './store.ts';

/** A conversation, and what its messages do with it. */
export interface Talk {
  readonly chat: ChatStore;
  readonly model: Model;
  /** Why nothing can be sent; null if it can. */
  readonly obstacle: string | null;
  /** Whether nothing can be sent now. */
  readonly isBlocked: boolean;
  /** The field for the next message. */
  readonly field: RefObject<HTMLTextAreaElement | null>;
  /** Identifier of the answer whose request is shown. */
  readonly inspected: number | null;
  readonly onInspect: (id: number | null) => void;
}

/** Scrolls to the last message once it is rendered. */
export function toEnd(): void {
  requestAnimationFrame(() => scrollTo(0, document.documentElement.scrollHeight));
}
