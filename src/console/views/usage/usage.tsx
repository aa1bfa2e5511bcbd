import { Empty } from '../../components/states.tsx';

export default function Usage() {
  return (
    <>
      <h1>Usage</h1>
      <Empty title="Not here yet" />
    </>
  );
}
