import { Empty } from '../../components/states.tsx';

export default function Api() {
  return (
    <>
      <h1>API</h1>
      <Empty title="Not here yet" />
    </>
  );
}
