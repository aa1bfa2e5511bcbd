import type { ComponentType } from 'preact';
import type { Session } from '../api/session.ts';
import type { Place } from './address.ts';

/** What every view gets. */
export interface ViewProps {
  readonly place: Place;
  /** Null only in views that need no key. */
  readonly session: Session;
}

/** Module of a view. */
export interface ViewModule {
  readonly default: ComponentType<ViewProps>;
  /** Address of the view's own style: its import, `export const style = css`. */
  readonly style?: string;
}
