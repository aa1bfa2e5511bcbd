import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { type ApiError, apiErrorOf } from '../api/request.ts';
import { Button } from './button.tsx';
import { ErrorState } from './states.tsx';

/** The next page of a list, newest first, that the reader asks for. */
export interface Older {
  readonly error: ApiError | undefined;
  readonly isBusy: boolean;
  readonly more: () => Promise<void>;
}

/** @param load loads the page after the last element and adds it to the list */
export function useOlder(load: () => Promise<void>): Older {
  const [error, setError] = useState<ApiError>();
  const [isBusy, setBusy] = useState(false);
  const more = async () => {
    setBusy(true);
    setError(undefined);
    try {
      await load();
    } catch (failure) {
      setError(apiErrorOf(failure));
    }
    setBusy(false);
  };
  return { error, isBusy, more };
}

interface OlderButtonProps {
  readonly older: Older;
  readonly hasMore: boolean;
  /** `Show older tasks` */
  readonly children: ComponentChildren;
}

/** The button that asks for the next page, or why that page did not come. */
export function OlderButton({
  older: { error, isBusy, more },
  hasMore,
  children,
}: OlderButtonProps) {
  if (error) return <ErrorState error={error} onRetry={more} />;
  if (!hasMore) return null;
  return (
    <p>
      <Button onClick={more} isBusy={isBusy}>
        {children}
      </Button>
    </p>
  );
}
