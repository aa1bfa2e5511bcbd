import type { ComponentChildren } from 'preact';
import type { Action } from '../api/action.ts';
import { Button } from './button.tsx';
import { ErrorState } from './states.tsx';

interface OlderButtonProps {
  /** Loads the page after the last element and adds it to the list. */
  readonly older: Action<[]>;
  readonly hasMore: boolean;
  /** `Show older tasks` */
  readonly children: ComponentChildren;
}

/** The button that asks for the next page of a list, or why that page did not come. */
export function OlderButton({ older, hasMore, children }: OlderButtonProps) {
  const { error, isBusy, run } = older;
  if (error) return <ErrorState error={error} onRetry={run} />;
  if (!hasMore) return null;
  return (
    <p>
      <Button onClick={() => run()} isBusy={isBusy}>
        {children}
      </Button>
    </p>
  );
}
